// The scale of a picture. Busy periods are to scale, and the quiet time between two of them is shortened.

const beyond = 1e7; // ns of a pixel after the end

export class Axis {
  #parts;

  constructor(parts) {
    this.#parts = parts;
  }

  get parts() {
    return this.#parts;
  }

  // x is where a moment is, in pixels from the axis' beginning.
  x(at) {
    let before = null;
    for (const part of this.#parts) {
      if (at < part.from) {
        if (!before) return part.x;
        const left = before.x + before.width;
        return left + ((at - before.until) / (part.from - before.until)) * (part.x - left);
      }
      if (at <= part.until) {
        return part.x + (part.until > part.from ? ((at - part.from) / (part.until - part.from)) * part.width : 0);
      }
      before = part;
    }
    return before.x + before.width;
  }

  // at is the moment at a place.
  at(x) {
    let before = null;
    for (const part of this.#parts) {
      if (x < part.x) {
        if (!before) return Math.max(0, part.from - (part.x - x) * beyond);
        const left = before.x + before.width;
        return before.until + ((x - left) / (part.x - left)) * (part.from - before.until);
      }
      if (x <= part.x + part.width && part.until > part.from) return part.from + ((x - part.x) / part.width) * (part.until - part.from);
      before = part.until > part.from ? part : { ...part, width: 0 };
    }
    return before.until + (x - before.x - before.width) * beyond;
  }

  // shows says whether a part of a period is on the axis.
  shows(from, until = from) {
    return until >= this.#parts[0].from && from <= this.#parts[this.#parts.length - 1].until;
  }
}
