"""The folders into which the installers of tools/ put software that Debian does not ship."""

def installed_home(ctx, name):
    """Returns the folder of tools/install-NAME: $MUSTER_NAME_HOME, or a folder in the user's data directory.

    Args:
      ctx: context of a repository rule whose environ has the variables of home_variables(name).
      name: the installer, such as "kubernetes".
    """
    environment = ctx.os.environ
    own = home_variables(name)[0]
    if environment.get(own):
        return environment[own]
    if environment.get("XDG_DATA_HOME"):
        return environment["XDG_DATA_HOME"] + "/muster/" + name
    return environment.get("HOME", "/root") + "/.local/share/muster/" + name

def home_variables(name):
    """Returns the environment variables that installed_home() reads."""
    return ["MUSTER_%s_HOME" % name.upper().replace("-", "_"), "XDG_DATA_HOME", "HOME"]
