from kohort.statement.columns import Column as Column
from kohort.statement.items import Items as Items
from kohort.statement.statement import Statement as Statement
