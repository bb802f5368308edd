// What a reader would meet on the page as it is shown now; every list is empty on a page that is in order.
(() => {
  const style = document.createElement("style");
  style.textContent = "* { pointer-events: all !important }"; // so that elementsFromPoint finds every shape
  document.head.append(style);

  const rgba = (text) => {
    const parts = (text.match(/[\d.]+/g) || []).map(Number);
    return text.startsWith("rgb") ? [...parts.slice(0, 3), parts[3] ?? 1] : [0, 0, 0, 0];
  };
  const over = (top, below) => top.slice(0, 3).map((value, at) => value * top[3] + below[at] * (1 - top[3]));
  const luminance = (colour) => {
    const [r, g, b] = colour.map((value) => value / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const isSvg = (element) => element instanceof SVGElement;
  const paint = (element) => {
    const found = getComputedStyle(element);
    if (!isSvg(element) || element.tagName === "svg") return rgba(found.backgroundColor);
    if (["g", "text", "tspan"].includes(element.tagName)) return [0, 0, 0, 0];
    const fill = rgba(found.fill);
    return [...fill.slice(0, 3), fill[3] * Number(found.fillOpacity) * Number(found.opacity)];
  };
  const ancestors = (element) => (element ? [element, ...ancestors(element.parentElement)] : []);
  const probe = document.createElement("i");
  probe.style.color = "Canvas";
  document.body.append(probe);
  const canvas = rgba(getComputedStyle(probe).color).slice(0, 3);
  probe.remove();
  const below = (element, x, y) => {
    let stack = document.elementsFromPoint(x, y);
    stack = stack.includes(element) ? stack.slice(stack.indexOf(element)) : ancestors(element);
    stack = stack.concat([document.body, document.documentElement]);
    return stack.map(paint).reverse().reduce((under, top) => over(top, under), canvas);
  };
  const opacity = (element) => ancestors(element).reduce((all, one) => all * Number(getComputedStyle(one).opacity), 1);
  const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const say = (element, more) => `${element.tagName} "${element.textContent.trim().slice(0, 40)}" ${more}`;

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.data.trim() || !shown(element) || ["STYLE", "SCRIPT", "title"].includes(element.tagName)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width > 1 && box.height > 1) texts.push({ element, box, line: range.getClientRects()[0] });
  }

  const faint = [];
  for (const { element, line } of texts) {
    const found = getComputedStyle(element);
    const colour = rgba(isSvg(element) ? found.fill : found.color);
    const behind = below(element, line.x + line.width / 2, line.y + line.height / 2);
    const ratio = contrast(over([...colour.slice(0, 3), colour[3] * opacity(element)], behind), behind);
    const size = parseFloat(found.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(found.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) faint.push(say(element, `has a contrast of ${ratio.toFixed(2)}`));
  }

  const charts = [...document.querySelectorAll("svg")].filter((svg) => shown(svg) && svg.querySelector(".mark-group, .root"));
  const marks = (svg) =>
    [...svg.querySelectorAll("path, circle, rect, line")].filter((mark) => {
      const box = mark.getBoundingClientRect();
      return mark.closest("[class*=mark-rect], [class*=mark-symbol], [class*=mark-rule]") && !mark.closest("[class*=role-axis]") && box.width + box.height > 1;
    });
  const data = (svg) => marks(svg).filter((mark) => mark.closest("[role=graphics-object]") && mark.closest(".role-mark"));
  const small = [];
  const cut = [];
  const crossing = [];
  const pale = [];
  for (const svg of charts) {
    const frame = svg.getBoundingClientRect();
    const inside = texts.filter(({ element }) => svg.contains(element));
    for (const { element, box } of inside) {
      const size = parseFloat(getComputedStyle(element).fontSize) * element.getScreenCTM().a;
      const turned = Math.abs(element.getScreenCTM().b) > 0.1;
      if (!turned && size < 9) small.push(say(element, `is ${size.toFixed(1)} px high`));
      const out = Math.max(frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom);
      if (out > 1.5) cut.push(say(element, `reaches ${out.toFixed(0)} px out of its chart`));
    }
    inside.forEach((one, at) =>
      inside.slice(at + 1).forEach((other) => {
        const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
        const high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
        if (wide > 2 && high > 4) crossing.push(say(one.element, `is written over "${other.element.textContent}"`));
      }),
    );
    for (const mark of data(svg)) {
      const box = mark.getBoundingClientRect();
      const fill = paint(mark);
      if (fill[3] === 0) continue;
      const ratio = contrast(fill.slice(0, 3), below(svg, box.x - 1, box.y - 1));
      if (ratio < 3) pale.push(`a mark of "${svg.textContent.slice(0, 40)}" has a contrast of ${ratio.toFixed(2)}`);
    }
  }

  const scrolls = [...document.querySelectorAll("*")].filter(
    (element) => !isSvg(element) && element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0,
  );
  const flow = (element) => getComputedStyle(element).overflowX;
  const lost = scrolls
    .filter((element) => ["hidden", "clip"].includes(flow(element)) && shown(element) && element.textContent.trim())
    .map((element) => say(element, "hides a part of its content"));
  const unreachable = scrolls
    .filter((element) => ["auto", "scroll"].includes(flow(element)) && element !== document.documentElement)
    .filter((element) => element.getAttribute("tabindex") !== "0" || !element.getAttribute("aria-label"))
    .map((element) => say(element, "scrolls, and no keyboard reaches it"));

  style.remove();
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    background: luminance(below(document.body, 1, 1)),
    texts: texts.length,
    marks: charts.map((svg) => data(svg).length),
    nameless: charts.filter((svg) => !svg.getAttribute("aria-label")).length,
    scrolling: scrolls.filter((element) => ["auto", "scroll"].includes(flow(element))).length,
    faint, small, cut, crossing, pale: [...new Set(pale)], lost, unreachable,
  };
})()
