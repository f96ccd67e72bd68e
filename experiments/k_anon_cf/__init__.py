"""Section 7 of Kenig and Tassa (2012), on the same public tables with the taxonomies that it describes."""
