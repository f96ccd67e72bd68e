"""How little generated hospital records can lose: bounds proven cell by cell, with as much time as it takes."""
