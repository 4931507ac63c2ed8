// Numbers as people read them.

export function ms(value) {
  if (value === null || value === undefined) return "";
  return value < 10_000 ? `${value.toFixed(0)} ms` : `${(value / 1000).toFixed(1)} s`;
}

export function count(value) {
  return (value ?? 0).toLocaleString("en");
}

export function bytes(value) {
  if (value < 1024) return `${value} bytes`;
  return value < 1024 * 1024 ? `${(value / 1024).toFixed(1)} KiB` : `${(value / 1024 / 1024).toFixed(1)} MiB`;
}

/** An amount of money that says that it is an estimate. */
export function money(cost) {
  if (!cost) return "";
  const digits = cost.amount >= 1 ? 2 : cost.amount >= 0.01 ? 3 : 5;
  return `≈ ${cost.amount.toFixed(digits)} ${cost.currency}`;
}
