"""Where the installers of tools/ put what is not Debian's."""

def installed_home(ctx, name):
    """The folder of what tools/install-NAME has brought: $MUSTER_NAME_HOME, or one of the user's data.

    Args:
      ctx: of a repository rule, whose environ has the variables of home_variables(name).
      name: "kubernetes", for instance.
    """
    environment = ctx.os.environ
    own = home_variables(name)[0]
    if environment.get(own):
        return environment[own]
    if environment.get("XDG_DATA_HOME"):
        return environment["XDG_DATA_HOME"] + "/muster/" + name
    return environment.get("HOME", "/root") + "/.local/share/muster/" + name

def home_variables(name):
    """What installed_home() depends on."""
    return ["MUSTER_%s_HOME" % name.upper().replace("-", "_"), "XDG_DATA_HOME", "HOME"]
