#ifndef MUSTER_SERVER_WEB_PAGE_FILES_H_
#define MUSTER_SERVER_WEB_PAGE_FILES_H_

#include <string>
#include <vector>

namespace muster::web {

struct File {
  std::string name;  // "page.css"
  std::string content;
};

// What browsers load: the files of this folder, which embed.sh has made C++ of.
const std::vector<File>& PageFiles();

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_PAGE_FILES_H_
