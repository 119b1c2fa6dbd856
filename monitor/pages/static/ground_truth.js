// Keys of the page of ground truth: j and k go to the next and the previous case, a accepts, r rejects, e edits, u takes
// the last change back. Each presses a link or a button of the page, so everything works without this script.
document.addEventListener("keydown", (event) => {
  const target = event.target;
  const writes = target instanceof HTMLElement && target.matches("input, textarea, select");
  if (writes || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const found = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!(found instanceof HTMLElement)) return;
  event.preventDefault();
  if (found instanceof HTMLDetailsElement) {
    found.open = true;
    found.querySelector("textarea")?.focus();
  } else {
    found.click();
  }
});
