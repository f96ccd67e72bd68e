"""How little generated hospital records can lose: bounds that are proven cell by cell."""
