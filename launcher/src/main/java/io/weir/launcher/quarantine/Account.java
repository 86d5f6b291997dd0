// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.quarantine;

import java.util.Map;
import java.util.TreeMap;

/**
 * What became of what was sent.
 *
 * @param sent lines and whole records
 * @param acknowledged those that Kafka has
 * @param fates what is known of each; one that is absent is not counted yet, or was counted as the
 *     repetition that it is
 */
public record Account(int sent, int acknowledged, Map<Source, Fate> fates) {
  static final Fate COUNTED = new Fate(Outcome.COUNTED, "");

  public Account {
    fates = Map.copyOf(new TreeMap<>(fates));
  }

  /** How it ended. */
  public enum Outcome {
    /** The count has taken it. */
    COUNTED,
    /** The count has refused it again. */
    REFUSED,
    /** Kafka did not take it. */
    NOT_SENT
  }

  /**
   * How it ended, and why.
   *
   * @param why empty when it is counted
   */
  public record Fate(Outcome outcome, String why) {}

  static Fate refused(String why) {
    return new Fate(Outcome.REFUSED, why);
  }

  static Fate failed(String why) {
    return new Fate(Outcome.NOT_SENT, why);
  }

  /** How many ended so. */
  public long count(Outcome outcome) {
    return fates.values().stream().filter(fate -> fate.outcome() == outcome).count();
  }
}
