#!/bin/sh
# Stands in for musterd where a test wants one that fails in a certain way, which FAKE_MUSTERD names.
# FAKE_MUSTERD_DIR, where set, gets its pid and its arguments.
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
  # when it is started a second time, until it is told to stay
  ends-again) [ -n "$port_file" ] || [ -e "$FAKE_MUSTERD_DIR/stays" ] || exit 4 ;;
esac
case $FAKE_MUSTERD in
  never-listens) ;;
  *)
    [ -z "$metrics_port_file" ] || echo 7 >"$metrics_port_file"
    # Nobody listens on the discard port: whoever calls is refused at once.
    [ -z "$port_file" ] || { echo 9 >"$port_file.new" && mv "$port_file.new" "$port_file"; }
    ;;
esac
exec sleep 1000
