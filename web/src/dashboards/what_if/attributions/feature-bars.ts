/** Bars of what features contribute to the predictions of one or more models. */
import * as m from '../../../catalog/what_if';
import { formatValue } from '../../../lib/format';

interface FeatureValue {
  readonly feature: string;
  readonly value: number;
  /** Of repeated estimates. */
  readonly deviation?: number;
}

interface ModelValues {
  readonly model: string;
  readonly color: string;
  readonly values: readonly FeatureValue[];
}

interface FeatureBar {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  readonly value: number;
}

/**
 * Return a bar for each feature of each model, those of a feature beside each other. The features
 * are in the order of the first model that has values, the largest first.
 */
export function makeFeatureBars(
  models: readonly ModelValues[],
  getSize: (value: FeatureValue) => number = ({ value }) => Math.abs(value),
): FeatureBar[] {
  const sorted = models.flatMap(({ values }) =>
    [...values].sort((one, other) => getSize(other) - getSize(one)),
  );
  const features = [...new Set(sorted.map(({ feature }) => feature))];
  const byModel = models.map(({ values }) => new Map(values.map((one) => [one.feature, one])));
  return features.flatMap((feature) =>
    models.flatMap(({ model, color }, at) => {
      const found = byModel[at]?.get(feature);
      if (!found) return [];
      const label = describe(found);
      return [
        {
          id: JSON.stringify([model, feature]),
          label: models.length > 1 ? m.valueOfModel({ value: label, model }) : label,
          color,
          value: found.value,
        },
      ];
    }),
  );
}

function describe({ feature, deviation }: FeatureValue): string {
  if (deviation === undefined) return feature;
  return m.withDeviation({ feature, std: formatValue(Number(deviation.toPrecision(2))) });
}
