"""Linking against Debian's libraries: the shared ones, or their archives under --config=static."""

def link_libraries(libs, static_only = []):
    """The linkopts for Debian's libraries.

    Args:
      libs: their names, without "lib".
      static_only: what their shared versions bring along by themselves, and their archives do not.
    """
    archives = ["-l:lib%s.a" % lib for lib in libs + static_only]
    return select({
        "@muster//bazel:static_link": ["-Wl,--start-group"] + archives + ["-Wl,--end-group"],
        "//conditions:default": ["-l" + lib for lib in libs],
    })
