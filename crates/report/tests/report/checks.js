// Looks at each page of `pages` in frames of the widths and colours of `views` and writes what is
// wrong, and how high each is, into <pre id="findings">.
const problems = [];
const heights = [];
let drawings = 0;

function open(page, width, scheme) {
  return new Promise(done => {
    const frame = document.createElement("iframe");
    // A frame has the colours that it is told.
    frame.style.cssText = `border:0;width:${width}px;height:900px;color-scheme:${scheme}`;
    frame.onload = () => done(frame);
    frame.srcdoc = page;
    document.body.append(frame);
  });
}

// A unit is what a pixel of rounding is.
const inside = (inner, outer, unit) =>
  inner.left >= outer.left - unit && inner.right <= outer.right + unit &&
  inner.top >= outer.top - unit && inner.bottom <= outer.bottom + unit;
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const visible = element => element.checkVisibility() && element.getBoundingClientRect().width > 1;

// For screen readers alone.
function clipped(element, view) {
  for (let around = element; around; around = around.parentElement) {
    if (view.getComputedStyle(around).clipPath == "inset(50%)") return true;
  }
  return false;
}

// Red, green, blue, opacity of a colour as computed styles have it.
const colour = text => {
  const [r, g, b, a = 1] = (text.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  return { rgb: [r, g, b], a };
};
// Relative luminance and contrast as of WCAG 2.
const luminance = ({ rgb }) => rgb
  .map(value => value / 255)
  .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// The fields of a drawing with what they are filled with, in the order in which they are drawn.
const fields = new WeakMap();
function filled(svg, view) {
  if (!fields.has(svg)) {
    const all = [...svg.querySelectorAll("rect")].map(field => [field.getBoundingClientRect(), view.getComputedStyle(field).fill]);
    fields.set(svg, all.filter(([_, fill]) => fill != "none"));
  }
  return fields.get(svg);
}

// What is behind the middle of an element: the last field that is drawn there, or what the elements
// around it are painted with.
function behind(element, view) {
  const box = element.getBoundingClientRect();
  const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const svg = element.closest("svg");
  const holds = ([area]) => area.left <= x && x <= area.right && area.top <= y && y <= area.bottom;
  let found = svg ? filled(svg, view).findLast(holds)?.[1] : undefined;
  for (let around = element; !found && around; around = around.parentElement) {
    const painted = view.getComputedStyle(around).backgroundColor;
    if (colour(painted).a > 0) found = painted;
  }
  return colour(found ?? "rgb(255, 255, 255)");
}

function look(doc, width, wrong) {
  const view = doc.defaultView;
  doc.querySelectorAll("details").forEach(details => details.open = true);
  if (doc.documentElement.scrollWidth > width) wrong(`it scrolls sideways: ${doc.documentElement.scrollWidth} pixels`);
  for (const element of doc.querySelectorAll("body *:not(svg *)")) {
    const box = element.getBoundingClientRect();
    if (box.right > width + 1 && visible(element) && !element.closest(".scroll > *") && !clipped(element, view)) {
      wrong(`${element.tagName} ${element.textContent.trim().slice(0, 40)} reaches beyond the page`);
    }
  }
  for (const box of doc.querySelectorAll(".scroll")) {
    if (!box.previousElementSibling?.classList.contains("hint")) wrong(`nothing says that ${box.textContent.slice(0, 40)} scrolls`);
  }

  const ids = new Set();
  for (const element of doc.querySelectorAll("[id]")) {
    if (ids.has(element.id)) wrong(`the id ${element.id} stands twice`);
    ids.add(element.id);
  }
  for (const attribute of ["href", "aria-labelledby", "aria-describedby"]) {
    for (const element of doc.querySelectorAll(`[${attribute}]`)) {
      const target = element.getAttribute(attribute).replace(/^#/, "");
      if (!ids.has(target)) wrong(`${attribute} ${target} points to nothing`);
    }
  }

  let level = 0;
  for (const heading of doc.querySelectorAll("h1,h2,h3,h4,h5,h6")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) wrong(`${heading.textContent} follows a heading of level ${level}`);
    level = own;
  }
  for (const [landmark, count] of [["h1", 1], ["main", 1], ["nav", 1], ["header", 1], ["footer", 1]]) {
    if (doc.querySelectorAll(landmark).length != count) wrong(`${count} <${landmark}> is wanted`);
  }

  const size = parseFloat(view.getComputedStyle(doc.body).fontSize);
  for (const svg of doc.querySelectorAll("svg")) {
    const other = { wide: ".narrow", narrow: ".wide" }[svg.classList[0]];
    if (other && !svg.checkVisibility()) {
      if (!svg.parentElement.querySelector(other).checkVisibility()) wrong("a figure shows neither of its drawings");
      continue;
    }
    drawings += 1;
    const box = svg.getBoundingClientRect();
    const name = svg.querySelector("title")?.textContent ?? "a drawing of the legend";
    const hidden = svg.getAttribute("aria-hidden") == "true";
    if (!hidden && (svg.getAttribute("role") != "img" || name == "")) wrong(`${name} has no name`);
    if (box.width < 8 || box.height < 8 || !svg.checkVisibility()) wrong(`${name} is not visible`);
    if (box.left < 0 || box.right > width) wrong(`${name} reaches beyond the page`);
    const labels = [...svg.querySelectorAll("text")].filter(label => label.textContent.trim() != "");
    const boxes = labels.map(label => label.getBoundingClientRect());
    boxes.forEach((label, i) => {
      const text = labels[i].textContent.trim();
      if (!inside(label, box, 1)) wrong(`${name}: the label ${text} is cut`);
      const { a, b } = labels[i].getScreenCTM() ?? { a: 0, b: 0 };
      const own = parseFloat(view.getComputedStyle(labels[i]).fontSize) * Math.hypot(a, b);
      if (Math.abs(own / size - 1) > 0.25) wrong(`${name}: the label ${text} is ${own} pixels high, the page's text ${size}`);
      for (let j = 0; j < i; ++j) {
        if (meet(label, boxes[j])) wrong(`${name}: the labels ${labels[j].textContent.trim()} and ${text} meet`);
      }
    });
    for (const shape of svg.querySelectorAll("rect, circle, polyline, polygon, path")) {
      if (view.getComputedStyle(shape).fill == "rgb(0, 0, 0)") wrong(`${name}: a ${shape.tagName} is filled with black`);
    }
    for (const sample of svg.querySelectorAll(".fitted, .held, .sample, .judged, .lost, .crossing")) {
      if (!sample.querySelector("title")?.textContent.includes("=")) wrong(`${name}: a ${sample.getAttribute("class")} does not tell its inputs`);
    }
  }

  const seen = new Set();
  for (const element of doc.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(node => node.nodeType == 3 && node.data.trim() != "");
    if (!own || element.closest("title, desc, style") || !element.checkVisibility()) continue;
    const style = view.getComputedStyle(element);
    const front = colour(element.closest("svg") ? style.fill : style.color);
    const ratio = contrast(front, behind(element, view));
    const what = `${element.tagName}.${element.getAttribute("class")} ${front.rgb}`;
    if (ratio >= 4.5 || seen.has(what)) continue;
    seen.add(what);
    wrong(`the contrast of ${element.textContent.trim().slice(0, 40)} is ${ratio.toFixed(1)}`);
  }

  // What keys can reach says so when they have.
  for (const element of doc.querySelectorAll("a, summary, [tabindex='0']")) {
    element.focus();
    const name = element.textContent.trim().slice(0, 40);
    if (doc.activeElement != element) wrong(`keys do not reach ${name}`);
    else if (view.getComputedStyle(element).outlineStyle == "none") wrong(`${name} has no outline`);
  }
  for (const box of doc.querySelectorAll("body *:not(svg *)")) {
    const style = view.getComputedStyle(box);
    if (style.overflowX == "auto" && box.tabIndex != 0) wrong(`keys cannot scroll ${box.className}`);
  }
}

window.addEventListener("load", async () => {
  for (const [name, page] of pages) {
    for (const [width, scheme] of views) {
      const frame = await open(page, width, scheme);
      heights.push(frame.contentDocument.documentElement.scrollHeight);
      look(frame.contentDocument, width, problem => problems.push(`${name} at ${width}, ${scheme}: ${problem}`));
      frame.remove();
    }
  }
  const result = document.createElement("pre");
  result.id = "findings";
  result.textContent = JSON.stringify({ problems, drawings, heights });
  document.body.append(result);
});
