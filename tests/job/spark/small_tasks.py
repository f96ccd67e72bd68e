"""Settings of Spark for many small tables: each query has a plan of its own, and optimizing it is in vain."""

SMALL_TASKS = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.python.daemon.module": "installed_pyspark",
}
