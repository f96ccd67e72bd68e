"""The daemon of PySpark's workers without what takes most of their time where tasks are small.

It comes from the installed package: the archive that Spark brings along holds no compiled modules, so that
every worker compiles PySpark, and every task reads the list of its files. After a task, garbage is collected
as Python sees fit, and not at once from among all modules.
"""

import gc
import runpy
import sys

sys.path[:] = [place for place in sys.path if not place.endswith(".zip")]
sys.path_importer_cache.clear()

if __name__ == "__main__":
    gc.collect = lambda generation=2: 0
    runpy.run_module("pyspark.daemon", run_name="__main__")
