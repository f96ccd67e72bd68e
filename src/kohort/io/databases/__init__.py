"""Tables of databases: PostgreSQL, SQLite, DuckDB, and as sources all that SQLAlchemy reaches."""

from kohort.io.databases.database_table import DatabaseTable, database, is_url

__all__ = ["DatabaseTable", "database", "is_url"]
