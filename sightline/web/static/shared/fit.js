// How large a picture is shown. Small ones are enlarged by whole numbers and stay crisp: a blurred pixel would be
// judged as a blurred image.

const SMALL = 2;

/** Pixels of the screen for each pixel of the image at which it fits into a room. */
export function fitting(room, image) {
  const most = devicePixelRatio * Math.min(room.width / image.naturalWidth, room.height / image.naturalHeight);
  return isSmall(most) ? Math.floor(most) : most;
}

/** Whether pixels are shown so large that they must stay squares. */
export const isSmall = (scale) => scale >= SMALL;

/** Lay an image into its frame, and what is marked on it over the image. */
export function lay(frame, image, marks) {
  const room = frame.getBoundingClientRect();
  if (!image.naturalWidth || !room.width || !room.height) return;
  const scale = fitting(room, image);
  const [width, height] = [image.naturalWidth, image.naturalHeight].map((side) => (side * scale) / devicePixelRatio);
  frame.classList.toggle("crisp", isSmall(scale));
  frame.style.setProperty("--width", `${width}px`);
  frame.style.setProperty("--height", `${height}px`);
  const low = getComputedStyle(image).objectPosition.endsWith("100%");
  const top = low ? room.height - height : (room.height - height) / 2;
  Object.assign(marks.style, {
    left: `${(room.width - width) / 2}px`,
    top: `${top}px`,
    width: `${width}px`,
    height: `${height}px`,
  });
}
