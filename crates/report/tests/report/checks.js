// Looks at each page of `pages` in frames of two widths and writes what is wrong into <pre id="findings">.
const problems = [];
let drawings = 0;

function open(page, width) {
  return new Promise(done => {
    const frame = document.createElement("iframe");
    frame.style.cssText = `border:0;width:${width}px;height:900px`;
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

function look(doc, width, wrong) {
  const view = doc.defaultView;
  doc.querySelectorAll("details").forEach(details => details.open = true);
  if (doc.documentElement.scrollWidth > width) wrong(`it scrolls sideways: ${doc.documentElement.scrollWidth} pixels`);

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

  for (const svg of doc.querySelectorAll("svg")) {
    drawings += 1;
    const box = svg.getBoundingClientRect();
    const name = svg.querySelector("title")?.textContent ?? "a drawing of the legend";
    const hidden = svg.getAttribute("aria-hidden") == "true";
    if (!hidden && (svg.getAttribute("role") != "img" || name == "")) wrong(`${name} has no name`);
    if (box.width < 8 || box.height < 8 || !svg.checkVisibility()) wrong(`${name} is not visible`);
    if (box.left < 0 || box.right > width) wrong(`${name} reaches beyond the page`);
    const labels = [...svg.querySelectorAll("text.label")].filter(label => label.textContent.trim() != "");
    const boxes = labels.map(label => label.getBoundingClientRect());
    boxes.forEach((label, i) => {
      if (!inside(label, box, 1)) wrong(`${name}: the label ${labels[i].textContent.trim()} is cut`);
      if (Math.min(label.width, label.height) < 5 || Math.max(label.width, label.height) < 9) {
        wrong(`${name}: the label ${labels[i].textContent.trim()} is too small`);
      }
      for (let j = 0; j < i; ++j) {
        if (meet(label, boxes[j])) wrong(`${name}: the labels ${labels[j].textContent.trim()} and ${labels[i].textContent.trim()} meet`);
      }
    });
    for (const shape of svg.querySelectorAll("rect, circle, polyline, polygon")) {
      if (view.getComputedStyle(shape).fill == "rgb(0, 0, 0)") wrong(`${name}: a ${shape.tagName} is filled with black`);
    }
    for (const text of svg.querySelectorAll("text")) {
      if (!inside(text.getBoundingClientRect(), box, 1)) wrong(`${name}: the text ${text.textContent.trim()} is cut`);
    }
  }

  // What keys can reach says so when they have.
  for (const element of doc.querySelectorAll("a, summary, [tabindex='0']")) {
    element.focus();
    const name = element.textContent.trim().slice(0, 40);
    if (doc.activeElement != element) wrong(`keys do not reach ${name}`);
    else if (view.getComputedStyle(element).outlineStyle == "none") wrong(`${name} has no outline`);
  }
  for (const box of doc.querySelectorAll("*")) {
    const style = view.getComputedStyle(box);
    if (style.overflowX == "auto" && box.tabIndex != 0) wrong(`keys cannot scroll ${box.className}`);
  }
}

window.addEventListener("load", async () => {
  for (const [name, page] of pages) {
    for (const width of [360, 1600]) {
      const frame = await open(page, width);
      look(frame.contentDocument, width, problem => problems.push(`${name} at ${width}: ${problem}`));
      frame.remove();
    }
  }
  const result = document.createElement("pre");
  result.id = "findings";
  result.textContent = JSON.stringify({ problems, drawings });
  document.body.append(result);
});
