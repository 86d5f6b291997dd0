// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.util.Arrays;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Records all events of a world, in order, as a hash. If there is a listener, also passes the
 * events to the listener as text.
 */
final class Trace {
  private static final long FNV_OFFSET = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  private final @Nullable Consumer<String> listener;
  private long hash = FNV_OFFSET;
  private long steps;

  /**
   * Creates an empty trace.
   *
   * @param listener receives every line; null for no listener
   */
  Trace(@Nullable Consumer<String> listener) {
    this.listener = listener;
  }

  /** Adds the next event of the scheduler. */
  void step(long nowMicros, String what) {
    steps++;
    mix(nowMicros);
    mix(what.hashCode());
    if (listener != null) {
      listener.accept(
          String.format(
              "%6d %10.3f ms %s", steps, (nowMicros - Scheduler.START_MICROS) / 1_000.0, what));
    }
  }

  /** Adds an effect of the current event, as a list of texts and numbers. */
  void note(Object... parts) {
    for (Object part : parts) {
      mix(part.hashCode());
    }
    if (listener != null) {
      listener.accept(
          "              "
              + Arrays.stream(parts).map(String::valueOf).collect(Collectors.joining(" ")));
    }
  }

  private void mix(long value) {
    hash = (hash ^ value) * FNV_PRIME;
    hash ^= hash >>> 29;
  }

  long steps() {
    return steps;
  }

  long hash() {
    return hash;
  }
}
