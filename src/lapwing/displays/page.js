// ---- what all pages share; text is always inserted as text, never as markup

const byId = id => document.getElementById(id), ROOT = document.documentElement;
const NARROW = matchMedia("(max-width: 40rem)");  // as in the style
const PALE = {  // what replaces dark colours of the palette on a dark page
  "#0072B2": "#3D9BE0", "#332288": "#A79BF0", "#882255": "#DE6FA1", "#888888": "#A8A8A8",
};
const dark = () => ROOT.dataset.theme === "dark";
const tint = i => dark() && PALE[D.palette[i % D.palette.length]] || D.palette[i % D.palette.length];
const short = x => x === null || x === undefined ? "–" : String(Number(x.toPrecision(3)));
const many = n => n.toLocaleString("en");
const prose = text => text.replace(/(?<=\d) (?=%)/g, "\u00a0");  // "56 %" stays on one line
const counted = (n, one, more) => many(n) + " " + (n === 1 ? one : more);

function make(tag, options, ...children) {
  const { className, ...rest } = options || {}, element = document.createElement(tag);
  if (className) element.className = className;
  for (const [key, value] of Object.entries(rest)) element.setAttribute(key, value);
  element.append(...children.map(c => c instanceof Node ? c : String(c)));
  return element;
}

function button(className, text, act) {
  const element = make("button", { type: "button", className }, text);
  element.addEventListener("click", act);
  return element;
}

function label(text) {  // a name that may break after punctuation, or anywhere if a word is long
  const parts = String(text).split(/(?<=[_/.,;:@|-])(?=\S)|(?<=[a-z])(?=[A-Z])/);
  const element = make("span", parts.some(p => /\S{17}/.test(p)) ? { className: "long" } : {});
  parts.forEach((part, i) => element.append(...(i ? [make("wbr")] : []), part));
  return element;
}

function ticks(low, high, about) {  // at most about + 1 round values
  const raw = (high - low) / about || 1, unit = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = unit * [1, 2, 2.5, 5, 10].find(m => m * unit >= raw * 0.999), out = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let k = first; k * step <= high + step * 1e-9; k++) out.push(k * step + 0);
  return out;
}

function useThemes(redraw) {  // redraw what has colours that the style does not know
  const set = theme => {
    const other = theme === "dark" ? "light" : "dark";
    ROOT.dataset.theme = theme;
    byId("theme").textContent = other === "dark" ? "Dark" : "Light";
    byId("theme").setAttribute("aria-label", `Switch to ${other} colours`);
    redraw();
  };
  byId("theme").addEventListener("click", () => set(dark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", event => {
    set(event.matches ? "dark" : "light");
  });
  set(ROOT.dataset.theme);
}

function onWidth(element, redraw) {  // redraw when the width of an element has changed
  let width = element.clientWidth;
  new ResizeObserver(() => {
    if (element.clientWidth === width || !element.clientWidth) return;
    width = element.clientWidth;
    redraw();
  }).observe(element);
}
