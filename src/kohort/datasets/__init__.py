"""Tables to try Kohort on: two real ones, made-up records and baskets of any size, hard ones from proofs.

Attribution and licences are in README.md beside this file.
"""

from kohort.late import late_names

__all__, __getattr__ = late_names(
    __name__,
    {
        "kohort.datasets.builtin": "example_spec load_adult load_health",
        "kohort.datasets.generated": (
            "generate_admissions generate_baskets generate_hospital generate_look_alikes generate_triangles"
        ),
    },
)


def __dir__() -> list[str]:
    return __all__
