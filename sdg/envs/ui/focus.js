// The element at a point (x, y), or the one that has the focus where x is null, in open shadow roots, too.
const get = (node, name) => Reflect.get(Object.getPrototypeOf(node), name, node);  // a form's fields hide its own
const within = root => x === null ? root.activeElement : root.elementFromPoint(x, y);
const deep = root => {
  let node = within(root);
  for (let inner, root; node && (root = get(node, 'shadowRoot')) && (inner = within(root)) && inner !== node;)
    node = inner;
  return node;
};
const above = node => get(node, 'assignedSlot') || get(node, 'parentElement') || get(node, 'parentNode')?.host || null;
