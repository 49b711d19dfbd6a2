import { createContext } from 'svelte';
import { SvelteMap, SvelteSet } from 'svelte/reactivity';

import type { SortedSteps } from '../../api/client';
import type { NumberRange } from '../../charts/types';
import type { Context } from '../../plugin/context';
import { withCardValue } from '../../cards/grid-settings';
import { StepSelection } from '../../cards/steps/step-selection.svelte';
import { StepsQuery } from '../../cards/steps/steps-query.svelte';
import { indexAtStep } from '../../cards/steps/step-series';
import { TagGridState } from '../../cards/card-grid.svelte';
import { clipPath, ServerClipSource } from './query';
import { BrowserClipSource } from './browser-decoding';
import { AudioPlayer } from './audio-player.svelte';
import {
  type AudioSettings,
  type ClipRef,
  createAudioSettings,
  isSameClip,
  isSameClipSlot,
} from './audio-settings';

export type CompareSide = 'a' | 'b';

class AudioCardGrid extends TagGridState {
  /** Does what comes before leaving the full screen, and says whether there was anything. */
  clearLoopRange: () => boolean = () => false;

  override clearSelection(): void {
    if (!this.clearLoopRange()) super.clearSelection();
  }
}

/** All that the parts of the view share. */
export class AudioState {
  readonly context: Context;
  readonly cardGrid: AudioCardGrid;
  readonly settings: AudioSettings;
  readonly stepSelection: StepSelection;
  readonly stepLoader: StepsQuery;
  readonly player: AudioPlayer;
  readonly serverSource: ServerClipSource;
  readonly browserSource: BrowserClipSource;
  /** Clips that only the page can draw and that somebody asked for. */
  readonly decodeRequested = new SvelteSet<string>();
  readonly #counts = new SvelteMap<string, number>();
  /** What plays stays what it is, also when a later step comes in. */
  #held = $state.raw<{ readonly tag: string; readonly run: string; readonly step: number } | null>(
    null,
  );

  constructor(context: Context) {
    this.context = context;
    this.cardGrid = new AudioCardGrid(context, {
      name: 'audio',
      title: 'Audio',
      noun: 'sounds',
      emptyHint: 'A clip logged at a step is shown here, to listen to and to look at.',
      plugins: ['audio'],
      defaultWidth: 440,
    });
    this.settings = createAudioSettings(context);
    this.stepSelection = new StepSelection(context.url);
    this.stepLoader = new StepsQuery(this.cardGrid);
    this.player = new AudioPlayer(context, this.settings);
    this.serverSource = new ServerClipSource(context.queries);
    this.browserSource = new BrowserClipSource(context.queries);
    this.cardGrid.clearLoopRange = () => this.#release();
  }

  /** Keeps what plays in step with the page; to be called where effects live. */
  follow(): void {
    const { settings, player, stepLoader } = this;
    this.cardGrid.startEffects();
    for (const param of [settings.clip, settings.a, settings.b])
      $effect(() => {
        const tag = param.value?.tag;
        return tag === undefined ? undefined : stepLoader.subscribe(tag);
      });
    $effect(() => player.setSource(this.findClipPath(settings.clip.value)));
    $effect(() => {
      if (!player.playing) return;
      for (const side of [settings.a.value, settings.b.value]) {
        const path = this.findClipPath(side);
        if (path !== null) player.preload(path);
      }
    });
    $effect(() => player.setVolume(settings.volume.value));
    $effect(() => () => player.dispose());
  }

  /** Where the value stands that a card shows of a run; -1 where there is none yet. */
  positionOf(steps: SortedSteps): number {
    const chosen = this.stepSelection.stepOf(steps.tag);
    const held = this.#held;
    const isHeld = this.player.playing && held?.run === steps.run && held.tag === steps.tag;
    return indexAtStep(steps, chosen === null && isHeld ? held.step : chosen);
  }

  /** The clip that a name stands for now; undefined while its steps are not known. */
  findClip(name: ClipRef | null): { steps: SortedSteps; position: number } | undefined {
    const steps = name && this.stepLoader.get(name.tag)?.find(({ run }) => run === name.run);
    if (!steps) return undefined;
    const position = name.step === null ? this.positionOf(steps) : indexAtStep(steps, name.step);
    return position < 0 ? undefined : { steps, position };
  }

  findClipPath(name: ClipRef | null): string | null {
    const found = this.findClip(name);
    return found && name ? clipPath({ ...found, part: name.part, sampleRate: null }) : null;
  }

  isCurrent(name: ClipRef): boolean {
    const { value } = this.settings.clip;
    if (!value || !isSameClipSlot(value, name)) return false;
    return value.step === null || value.step === name.step;
  }

  /** Plays a clip, or stops it; `name` has the step that is seen. */
  toggle(name: ClipRef): void {
    if (this.isCurrent(name) && this.player.playing) this.player.pause();
    else {
      this.#choose(name);
      this.#start(name);
    }
  }

  /** Plays what was played last, or stops it. */
  toggleCurrent(): void {
    const clip = this.settings.clip.value;
    if (this.player.playing) this.player.pause();
    else if (clip) this.#start(clip);
  }

  seek(name: ClipRef, seconds: number): void {
    this.#choose(name);
    this.player.seek(seconds);
  }

  /** The part of a clip that is played again and again. */
  setLoopRange(name: ClipRef, range: NumberRange | null): void {
    const { settings } = this;
    this.#choose(name);
    settings.loopRange.set(range && roundRange(range, 4));
    if (!range) return;
    settings.loop.set(true);
    this.player.seek(range[0]);
  }

  /** A clip becomes one of the two that are compared, or is no longer. */
  toggleCompared(side: CompareSide, name: ClipRef): void {
    const param = this.settings[side];
    param.set(isSameClip(param.value, name) ? null : name);
  }

  /** Goes on with one of the two at the same place; the first time it becomes that one. */
  switchTo(side: CompareSide): void {
    const { settings, player } = this;
    const wanted = settings[side].value;
    const current = settings.clip.value;
    if (wanted) settings.clip.set(wanted, 'replace');
    else if (current) {
      const found = this.findClip(current);
      settings[side].set({ ...current, step: found?.steps.step[found.position] ?? null });
    }
    if (wanted && !player.playing) player.play();
  }

  /** What is seen of the clips of a card, in seconds; null: all. */
  zoomOf(cardId: string): NumberRange | null {
    return this.settings.zooms.value.get(cardId) ?? null;
  }

  setZoom(cardId: string, span: NumberRange | null): void {
    const { zooms } = this.settings;
    zooms.set(withCardValue(zooms.value, cardId, span && roundRange(span, 6)), 'replace');
  }

  /** How many clips a tag has, as far as that is known: of all runs that are shown together. */
  clipCount(tag: string): number | undefined {
    return this.#counts.get(tag);
  }

  setClipCount(tag: string, clips: number): void {
    if ((this.#counts.get(tag) ?? 0) < clips) this.#counts.set(tag, clips);
  }

  #start(name: ClipRef): void {
    this.#hold(name);
    this.player.play();
  }

  /** The clip follows the slider of its card from now on. */
  #choose(name: ClipRef): void {
    if (this.isCurrent(name)) return;
    this.settings.clip.set({ ...name, step: null });
    this.settings.loopRange.set(null);
    if (!this.player.playing) this.player.seek(0);
    else this.#hold(name);
  }

  #hold(name: ClipRef): void {
    const found = this.findClip(name);
    const step = found?.steps.step[found.position];
    this.#held = step === undefined ? null : { tag: name.tag, run: name.run, step };
  }

  #release(): boolean {
    const { loopRange } = this.settings;
    const hadAny = loopRange.value !== null;
    if (hadAny) loopRange.set(null);
    return hadAny;
  }
}

/** With no more digits than an address has to have. */
function roundRange([from, to]: NumberRange, digits: number): NumberRange {
  return [Number(from.toFixed(digits)), Number(to.toFixed(digits))];
}

export const [getAudioState, setAudioState] = createContext<AudioState>();
