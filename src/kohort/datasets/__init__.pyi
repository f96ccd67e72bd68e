from kohort.datasets.builtin import example_spec as example_spec
from kohort.datasets.builtin import load_adult as load_adult
from kohort.datasets.builtin import load_health as load_health
from kohort.datasets.generated import generate_admissions as generate_admissions
from kohort.datasets.generated import generate_baskets as generate_baskets
from kohort.datasets.generated import generate_hospital as generate_hospital
from kohort.datasets.generated import generate_look_alikes as generate_look_alikes
from kohort.datasets.generated import generate_triangles as generate_triangles
