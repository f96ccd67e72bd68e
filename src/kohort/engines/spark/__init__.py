"""The Spark engine: tables that are on many machines. Needs kohort[spark] and Java 17 or later."""
