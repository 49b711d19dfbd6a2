import { createContext } from 'svelte';
import { SvelteMap, SvelteSet } from 'svelte/reactivity';

import type { RunSteps } from '../../api/values';
import type { Span } from '../../charts/types';
import type { Context } from '../../plugin/context';
import { withCard } from '../../wall/by-card';
import { StepChoice } from '../../wall/steps/choice';
import { StepLoader } from '../../wall/steps/loader.svelte';
import { placeAt } from '../../wall/steps/steps';
import { TagWall } from '../../wall/tag-wall.svelte';
import { clipPath, ServerDrawer } from './data/drawer';
import { PageDrawer } from './decode/page-drawer';
import { Player } from './player/player.svelte';
import { type ClipName, isSameClip, isSamePlace } from './state/clip';
import { type AudioSettings, openAudioSettings } from './state/settings';

export type Side = 'a' | 'b';

class AudioWall extends TagWall {
  /** Does what comes before leaving the full screen, and says whether there was anything. */
  release: () => boolean = () => false;

  override letGo(): void {
    if (!this.release()) super.letGo();
  }
}

/** All that the parts of the view share. */
export class AudioView {
  readonly context: Context;
  readonly wall: AudioWall;
  readonly settings: AudioSettings;
  readonly choice: StepChoice;
  readonly loader: StepLoader;
  readonly player: Player;
  readonly server: ServerDrawer;
  readonly page: PageDrawer;
  /** Clips that only the page can draw and that somebody asked for. */
  readonly drawn = new SvelteSet<string>();
  readonly #counts = new SvelteMap<string, number>();
  /** What plays stays what it is, also when a later step comes in. */
  #held = $state.raw<{ readonly tag: string; readonly run: string; readonly step: number } | null>(
    null,
  );

  constructor(context: Context) {
    this.context = context;
    this.wall = new AudioWall(context, {
      name: 'audio',
      title: 'Audio',
      noun: 'sounds',
      lesson: 'A clip logged at a step is shown here, to listen to and to look at.',
      plugins: ['audio'],
      usualWidth: 440,
    });
    this.settings = openAudioSettings(context);
    this.choice = new StepChoice(context.address);
    this.loader = new StepLoader(this.wall);
    this.player = new Player(context, this.settings);
    this.server = new ServerDrawer(context.api);
    this.page = new PageDrawer(context.api);
    this.wall.release = () => this.#release();
  }

  /** Keeps what plays in step with the page; to be called where effects live. */
  follow(): void {
    const { settings, player, loader } = this;
    this.wall.follow();
    for (const param of [settings.clip, settings.a, settings.b])
      $effect(() => {
        const tag = param.value?.tag;
        return tag === undefined ? undefined : loader.want(tag);
      });
    $effect(() => player.change(this.pathOf(settings.clip.value)));
    $effect(() => {
      if (!player.playing) return;
      for (const side of [settings.a.value, settings.b.value]) {
        const path = this.pathOf(side);
        if (path !== null) player.expect(path);
      }
    });
    $effect(() => player.setLevel(settings.level.value));
    $effect(() => () => player.close());
  }

  /** Where the value stands that a card shows of a run; -1 where there is none yet. */
  placeOf(steps: RunSteps): number {
    const chosen = this.choice.of(steps.tag);
    const held = this.#held;
    const isHeld = this.player.playing && held?.run === steps.run && held.tag === steps.tag;
    return placeAt(steps, chosen === null && isHeld ? held.step : chosen);
  }

  /** The clip that a name stands for now; undefined while its steps are not known. */
  find(name: ClipName | null): { steps: RunSteps; place: number } | undefined {
    const steps = name && this.loader.find(name.tag)?.find(({ run }) => run === name.run);
    if (!steps) return undefined;
    const place = name.step === null ? this.placeOf(steps) : placeAt(steps, name.step);
    return place < 0 ? undefined : { steps, place };
  }

  pathOf(name: ClipName | null): string | null {
    const found = this.find(name);
    return found && name ? clipPath({ ...found, part: name.part, sampleRate: null }) : null;
  }

  isCurrent(name: ClipName): boolean {
    const { value } = this.settings.clip;
    if (!value || !isSamePlace(value, name)) return false;
    return value.step === null || value.step === name.step;
  }

  /** Plays a clip, or stops it; `name` has the step that is seen. */
  toggle(name: ClipName): void {
    if (this.isCurrent(name) && this.player.playing) this.player.stop();
    else {
      this.#choose(name);
      this.#start(name);
    }
  }

  /** Plays what was played last, or stops it. */
  toggleCurrent(): void {
    const clip = this.settings.clip.value;
    if (this.player.playing) this.player.stop();
    else if (clip) this.#start(clip);
  }

  seek(name: ClipName, seconds: number): void {
    this.#choose(name);
    this.player.seek(seconds);
  }

  /** The part of a clip that is played again and again. */
  select(name: ClipName, range: Span | null): void {
    const { settings } = this;
    this.#choose(name);
    settings.range.set(range && shorten(range, 4));
    if (!range) return;
    settings.looping.set(true);
    this.player.seek(range[0]);
  }

  /** A clip becomes one of the two that are compared, or is no longer. */
  mark(side: Side, name: ClipName): void {
    const param = this.settings[side];
    param.set(isSameClip(param.value, name) ? null : name);
  }

  /** Goes on with one of the two at the same place; the first time it becomes that one. */
  switchTo(side: Side): void {
    const { settings, player } = this;
    const wanted = settings[side].value;
    const current = settings.clip.value;
    if (wanted) settings.clip.set(wanted, 'replace');
    else if (current) {
      const found = this.find(current);
      settings[side].set({ ...current, step: found?.steps.step[found.place] ?? null });
    }
    if (wanted && !player.playing) player.play();
  }

  /** What is seen of the clips of a card, in seconds; null: all. */
  zoomOf(cardId: string): Span | null {
    return this.settings.zooms.value.get(cardId) ?? null;
  }

  zoom(cardId: string, span: Span | null): void {
    const { zooms } = this.settings;
    zooms.set(withCard(zooms.value, cardId, span && shorten(span, 6)), 'replace');
  }

  /** How many clips a tag has, as far as that is known: of all runs that are shown together. */
  countOf(tag: string): number | undefined {
    return this.#counts.get(tag);
  }

  count(tag: string, clips: number): void {
    if ((this.#counts.get(tag) ?? 0) < clips) this.#counts.set(tag, clips);
  }

  #start(name: ClipName): void {
    this.#hold(name);
    this.player.play();
  }

  /** The clip follows the slider of its card from now on. */
  #choose(name: ClipName): void {
    if (this.isCurrent(name)) return;
    this.settings.clip.set({ ...name, step: null });
    this.settings.range.set(null);
    if (!this.player.playing) this.player.seek(0);
    else this.#hold(name);
  }

  #hold(name: ClipName): void {
    const found = this.find(name);
    const step = found?.steps.step[found.place];
    this.#held = step === undefined ? null : { tag: name.tag, run: name.run, step };
  }

  #release(): boolean {
    const { range } = this.settings;
    const hadAny = range.value !== null;
    if (hadAny) range.set(null);
    return hadAny;
  }
}

/** With no more digits than an address has to have. */
function shorten([from, to]: Span, digits: number): Span {
  return [Number(from.toFixed(digits)), Number(to.toFixed(digits))];
}

export const [getAudio, setAudio] = createContext<AudioView>();
