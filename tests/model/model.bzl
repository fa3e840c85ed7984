"""Models in Promela, of which SPIN looks at every state.

    load("//tests/model:model.bzl", "spin_model")

    spin_model(
        name = "restart",                                        # restart.pml
        holds = {"two_restarts": ["CRASH=2", "CUT=1"]},          # restart_holds_two_restarts
        large = {"three_members": ["N=3", "CRASH=2"]},           # the same, tagged "manual"
        mutations = {"CONTENT_MAY_CHANGE": ["TIMEOUT=1"]},       # restart_finds_content_may_change
    )

A mutation is a define that breaks one rule of the model. Its test passes where SPIN finds that something no longer
holds, among the faults that are named beside it.
"""

def _check(name, model, expected, defines, **kwargs):
    native.sh_test(
        name = name,
        srcs = ["check.sh"],
        args = [expected, "$(location %s.pml)" % model] + defines,
        data = native.glob(["*.pml"]),
        **kwargs
    )

def spin_model(name, holds, mutations, large = {}):
    """Tests of one model.

    Args:
      name: of the model.
      holds: what each small instance is made of: defines, by the instance's name.
      mutations: among which faults the absence of each rule is found: defines, by the mutation's define.
      large: instances that take more than a minute or a gibibyte.
    """
    for instance, defines in holds.items():
        _check("%s_holds_%s" % (name, instance), name, "holds", defines, size = "medium", tags = ["no-asan"])
    for instance, defines in large.items():
        _check(
            "%s_holds_%s" % (name, instance),
            name,
            "holds",
            defines,
            size = "enormous",
            tags = ["manual", "no-asan"],
        )
    for mutation, defines in mutations.items():
        _check(
            "%s_finds_%s" % (name, mutation.lower()),
            name,
            "fails",
            [mutation] + defines,
            size = "small",
            tags = ["no-asan"],
        )
