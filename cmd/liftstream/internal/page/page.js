(function () {
  "use strict";
  // The server sends the parts that changed, made by the same templates as the page, every value escaped. A part is not
  // replaced: texts and attributes of its elements change one by one, so that focus, open details and scroll stay.
  var source = null, again = 0, still = false, kept = {};
  var link = document.getElementById("link"), hold = document.getElementById("hold");

  function alike(a, b) { return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || ""); }

  function attributes(to, from) {
    var i, n;
    for (i = to.attributes.length - 1; i >= 0; i--) {
      n = to.attributes[i].name;
      if (!from.hasAttribute(n) && !(n === "open" && to.nodeName === "DETAILS")) { to.removeAttribute(n); }
    }
    for (i = 0; i < from.attributes.length; i++) {
      n = from.attributes[i];
      if (to.getAttribute(n.name) !== n.value) { to.setAttribute(n.name, n.value); }
    }
  }

  function change(to, from) {
    var a = to.firstChild, b = from.firstChild, after;
    while (b) {
      after = b.nextSibling;
      if (!a) {
        to.appendChild(b);
      } else {
        if (!alike(a, b)) {
          to.replaceChild(b, a);
          a = b;
        } else if (a.nodeType !== 1) {
          if (a.data !== b.data) { a.data = b.data; }
        } else if (!a.isEqualNode(b)) {
          attributes(a, b);
          change(a, b);
        }
        a = a.nextSibling;
      }
      b = after;
    }
    while (a) {
      after = a.nextSibling;
      to.removeChild(a);
      a = after;
    }
  }

  // A part waits while somebody selects in it, or has the focus in a row of it: the row could become another record's.
  function read(part) {
    var s = window.getSelection(), f = document.activeElement;
    return s && !s.isCollapsed && s.containsNode(part, true) || f && part.contains(f) && f.closest("[data-key]");
  }

  function put(id) {
    var part = document.getElementById("part-" + id), t;
    if (!part || kept[id] === undefined) { return; }
    if (still || read(part)) { part.classList.toggle("held", !still); return; }
    part.classList.remove("held");
    t = document.createElement("template");
    t.innerHTML = kept[id];
    delete kept[id];
    change(part, t.content);
  }

  function all() { Object.keys(kept).forEach(put); }

  function listen() {
    clearTimeout(again);
    if (source || document.hidden) { return; }
    source = new EventSource("api/events");
    source.addEventListener("part", function (e) {
      var x = JSON.parse(e.data);
      kept[x.id] = x.html;
      all();
    });
    source.onopen = function () { link.textContent = ""; };
    source.onerror = function () {
      link.textContent = "No answer from the stage: the figures stand still.";
      if (source && source.readyState === 2) { // refused: there are too many pages, or it has ended
        source = null;
        again = setTimeout(listen, 5000);
      }
    };
  }

  document.addEventListener("visibilitychange", function () {
    if (document.hidden && source) {
      source.close();
      source = null;
    }
    listen();
  });
  document.addEventListener("selectionchange", all);
  document.addEventListener("focusout", function () { setTimeout(all); });
  hold.hidden = false;
  hold.addEventListener("click", function () {
    still = !still;
    hold.setAttribute("aria-pressed", String(still));
    all();
  });
  listen();
})();
