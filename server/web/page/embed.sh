#!/bin/bash
# Writes C++ that contains the files, as server/web/page/files.h declares them: embed.sh FILE...
set -euo pipefail

echo '#include "server/web/page/files.h"'
echo 'namespace muster::web {'
echo 'const std::vector<File>& PageFiles() {'
echo '  static const std::vector<File>* const files = new std::vector<File>{'
for file in "$@"; do
  printf '{"%s", R"muster_page(' "${file##*/}"
  cat "$file"
  echo ')muster_page"},'
done
echo '  };'
echo '  return *files;'
echo '}'
echo '}  // namespace muster::web'
