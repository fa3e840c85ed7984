"""Links against Debian's libraries: shared ones, or archives under --config=static."""

def link_libraries(libs, static_only = []):
    """Returns the linkopts for Debian's libraries.

    Args:
      libs: names of the libraries, without "lib".
      static_only: libraries that the shared versions load themselves and the archives do not contain.
    """
    archives = ["-l:lib%s.a" % lib for lib in libs + static_only]
    return select({
        "@muster//bazel:static_link": ["-Wl,--start-group"] + archives + ["-Wl,--end-group"],
        "//conditions:default": ["-l" + lib for lib in libs],
    })
