// Roles by keyboard: a letter gives the focused row its role, arrows go from row to row.

export function roleKeys() {
  document.addEventListener("keydown", (event) => {
    const row = event.target.closest?.("[data-role-row]");
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const rows = [...document.querySelectorAll("[data-role-row]")];
      const next = rows[rows.indexOf(row) + (event.key === "ArrowDown" ? 1 : -1)];
      (next?.querySelector("[aria-pressed=true]") ?? next?.querySelector("button"))?.focus();
      event.preventDefault();
      return;
    }
    const button = [...row.querySelectorAll("[data-key]")].find((found) => found.dataset.key === event.key);
    if (button) {
      event.preventDefault();
      button.focus();
      button.click();
    }
  });
}
