#ifndef MUSTER_SERVER_WEB_PAGE_FILES_H_
#define MUSTER_SERVER_WEB_PAGE_FILES_H_

#include <string>
#include <vector>

namespace muster::web {

// A file of the status page.
struct File {
  std::string name;  // "page.css"
  std::string content;
};

// Returns the files that browsers load. embed.sh turns the files of this folder into C++.
const std::vector<File>& PageFiles();

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_PAGE_FILES_H_
