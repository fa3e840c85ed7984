"""One relocatable object of the sources behind some libraries."""

def _libraries(deps):
    return [
        library.static_library or library.pic_static_library
        for dep in deps
        for linker_input in dep[CcInfo].linking_context.linker_inputs.to_list()
        for library in linker_input.libraries
        if library.static_library or library.pic_static_library
    ]

def _relocatable_object_impl(ctx):
    wanted = {library: None for library in _libraries(ctx.attr.but)}
    without = {library: None for library in _libraries(ctx.attr.without) if library not in wanted}
    archives = depset([library for library in _libraries(ctx.attr.deps) if library not in without]).to_list()
    out = ctx.actions.declare_file(ctx.label.name + ".o")
    ctx.actions.run_shell(
        inputs = archives,
        outputs = [out],
        arguments = [out.path] + [archive.path for archive in archives],
        command = "out=$1; shift; ld -r -o $out --whole-archive \"$@\"",
        use_default_shell_env = True,
        mnemonic = "RelocatableObject",
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles([out]))]

relocatable_object = rule(
    implementation = _relocatable_object_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "without": attr.label_list(providers = [CcInfo]),
        "but": attr.label_list(providers = [CcInfo]),
    },
    doc = "An object of all that `deps` are made of, and nothing of what `without` is made of, " +
          "but for what `but` is made of. Whoever links it has all of it, static initialisers too.",
)

def _link_flags_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(out, "\n".join([
        flag
        for dep in ctx.attr.deps
        for linker_input in dep[CcInfo].linking_context.linker_inputs.to_list()
        for flag in linker_input.user_link_flags
    ]) + "\n")
    return [DefaultInfo(files = depset([out]))]

link_flags = rule(
    implementation = _link_flags_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
    doc = "A file with what `deps` tell the linker.",
)
