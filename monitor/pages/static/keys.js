// Renewal of the overview, and keys of pages: j and k go down and up the rows of the lists, enter opens the row, ? says which keys there are. Other
// keys press a link or a button of the page (data-key), so everything works without this script.
const help = document.getElementById("keys");
const PLACE = "dialwatch row";

function rows() {
  return [...document.querySelectorAll("[data-rows] > tbody > tr")].map((row) => row.querySelector("a")).filter(Boolean);
}

function go(step) {
  const links = rows();
  const row = document.activeElement?.closest("[data-rows] > tbody > tr");
  const now = row ? links.indexOf(row.querySelector("a")) : -1;
  const next = now < 0 ? links[0] : links[Math.min(Math.max(now + step, 0), links.length - 1)];
  next?.focus();
  // A page that renews itself, or to which one goes back, goes on at the same row.
  if (next) sessionStorage.setItem(PLACE, `${location.href} ${next.href}`);
  return Boolean(next);
}

function press(key) {
  const found = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!(found instanceof HTMLElement)) return false;
  if (found instanceof HTMLDetailsElement) {
    found.open = true;
    found.querySelector("textarea")?.focus();
  } else {
    found.click();
  }
  return true;
}

function act(key) {
  if (help?.open) return false;
  if (key === "?" && help) {
    help.showModal();
    return true;
  }
  return press(key) || ((key === "j" || key === "k") && go(key === "j" ? 1 : -1));
}

document.addEventListener("keydown", (event) => {
  const target = event.target;
  const writes = target instanceof HTMLElement && (target.matches("input, textarea, select") || target.isContentEditable);
  const repeats = event.repeat && !"jk".includes(event.key);
  if (writes || event.ctrlKey || event.metaKey || event.altKey || repeats || event.key.length !== 1) return;
  if (act(event.key)) event.preventDefault();
});

// Nothing that somebody types or has unfolded is lost: the page waits until it is folded, empty or left.
const unfolded = (one) => one.open !== one.hasAttribute("data-was-open");
const typed = (one) => one === document.activeElement || one.value !== one.defaultValue;
document.querySelectorAll("details[open]").forEach((one) => one.setAttribute("data-was-open", ""));
const renew = document.querySelector("[data-renew]");
if (renew) {
  setInterval(() => {
    const busy = [...document.querySelectorAll("main input")].some(typed) || [...document.querySelectorAll("details")].some(unfolded);
    if (!busy && !help?.open) location.reload();
  }, 1000 * Number(renew.dataset.renew));
}

help?.querySelector("button").addEventListener("click", () => help.close());
document.querySelectorAll("[data-with-keys]").forEach((one) => (one.hidden = false));
const place = sessionStorage.getItem(PLACE);
rows().find((link) => `${location.href} ${link.href}` === place)?.focus({ preventScroll: true });
