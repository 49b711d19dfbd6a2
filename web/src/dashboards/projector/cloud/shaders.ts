/** Points that move, with a colour, a size and how much is seen of each. */
export const VERTEX = /* glsl */ `
in vec3 before;
in vec4 colour;
in float size;
uniform float way;
uniform float pixels;
uniform float spread;
uniform float near;
uniform float far;
out vec4 seen;
out float depth;
flat out int place;

void main() {
  seen = colour;
  place = gl_VertexID;
  vec4 at = modelViewMatrix * vec4(mix(before, position, way), 1.0);
  depth = clamp((-at.z - near) / (far - near), 0.0, 1.0);
  gl_Position = projectionMatrix * at;
  // Those that stand out are in front of the others that are nearby.
  if (colour.a > 0.9) gl_Position.z -= 0.004 * gl_Position.w;
  gl_PointSize = pixels * mix(1.0 - spread, 1.0, size);
  if (colour.a > 0.9) gl_PointSize = max(gl_PointSize, 3.0);
  // One that is hidden, or nowhere, is drawn outside of the picture.
  if (colour.a == 0.0 || !(at.x == at.x)) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}
`;

/** Discs, or squares where they are too small for anybody to tell. */
export const DISC = /* glsl */ `
precision highp float;
uniform vec3 paper;
uniform float fog;
uniform float opacity;
uniform bool isRound;
in vec4 seen;
in float depth;
out vec4 pixel;

void main() {
  if (isRound && length(gl_PointCoord - 0.5) > 0.5) discard;
  // Without letting through, those that stand back are paler than the others.
  float strength = opacity < 1.0 ? 1.0 : min(1.0, 1.3 * seen.a);
  vec3 colour = mix(paper, seen.rgb, strength);
  // Among a million, a few that stand out are found only where the others nearly vanish.
  float share = seen.a > 0.9 ? max(0.75, 2.0 * opacity) : opacity * seen.a * (seen.a < 0.5 ? 0.4 : 1.0);
  float alpha = opacity < 1.0 ? min(1.0, share) : 1.0;
  pixel = vec4(mix(colour, paper, fog * depth), alpha);
}
`;

/** Pictures from a sheet; what is not square keeps its form. */
export const PICTURE = /* glsl */ `
precision highp float;
uniform sampler2D sheet;
uniform vec3 paper;
uniform float fog;
uniform float tint;
uniform float columns;
uniform float first;
/** How much of the sheet one picture takes, and how much of the square of a point. */
uniform vec2 cell;
uniform vec2 form;
in vec4 seen;
in float depth;
flat in int place;
out vec4 pixel;

void main() {
  vec2 within = (gl_PointCoord - 0.5) / form + 0.5;
  if (any(lessThan(within, vec2(0.0))) || any(greaterThan(within, vec2(1.0)))) discard;
  float at = float(place) - first;
  vec2 corner = vec2(mod(at, columns), floor(at / columns));
  vec4 drawn = texture(sheet, (corner + within) * cell);
  if (drawn.a < 0.1) discard;
  vec3 colour = mix(drawn.rgb, drawn.rgb * seen.rgb, tint);
  colour = mix(paper, colour, min(1.0, 0.15 + 1.1 * seen.a));
  pixel = vec4(mix(colour, paper, fog * depth), drawn.a);
}
`;
