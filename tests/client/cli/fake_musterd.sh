#!/bin/sh
# A musterd for tests that fails in the way that FAKE_MUSTERD names. If FAKE_MUSTERD_DIR is set, it
# gets the process's pid and arguments.
for argument; do
  case $argument in
    --port-file=*) port_file=${argument#--port-file=} ;;
    --metrics-port-file=*) metrics_port_file=${argument#--metrics-port-file=} ;;
  esac
done
if [ -n "$FAKE_MUSTERD_DIR" ]; then
  printf '%s\n' "$@" >"$FAKE_MUSTERD_DIR/arguments"
  echo $$ >"$FAKE_MUSTERD_DIR/pid"
fi
case $FAKE_MUSTERD in
  fails)
    echo "cannot listen" >&2
    exit 3
    ;;
  never-listens) ;;
  # exits at each restart, until the test asks it to stay
  ends-again) [ -n "$port_file" ] || [ -e "$FAKE_MUSTERD_DIR/stays" ] || exit 4 ;;
esac
case $FAKE_MUSTERD in
  never-listens) ;;
  *)
    [ -z "$metrics_port_file" ] || echo 7 >"$metrics_port_file"
    # No process listens on the discard port, so each connection is refused at once.
    [ -z "$port_file" ] || { echo 9 >"$port_file.new" && mv "$port_file.new" "$port_file"; }
    ;;
esac
exec sleep 1000
