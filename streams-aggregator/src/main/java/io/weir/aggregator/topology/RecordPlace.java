// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.topics.catalog.Topics;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The partition and offset of a record in the calls topic. Its text form is {@code 3@1234}.
 *
 * @param partition the partition, ≥ 0
 * @param offset the offset, ≥ 0
 */
public record RecordPlace(int partition, long offset) {
  /** Name of the calls topic. */
  static final String TOPIC = Topics.CALLS.name();

  private static final Pattern TEXT = Pattern.compile("(\\d{1,9})@(\\d{1,18})");

  /**
   * Parses a list of places that are separated by commas.
   *
   * @throws IllegalArgumentException if an entry is not a place; the message shows the format
   */
  public static Set<RecordPlace> parseAll(String text) {
    Set<RecordPlace> places = new HashSet<>();
    for (String one : text.split(",", -1)) {
      if (one.isBlank() && text.isBlank()) {
        break;
      }
      Matcher place = TEXT.matcher(one.strip());
      if (!place.matches()) {
        throw new IllegalArgumentException(
            "must name records as partition@offset, separated by commas, such as 3@1234");
      }
      places.add(new RecordPlace(Integer.parseInt(place.group(1)), Long.parseLong(place.group(2))));
    }
    return places;
  }

  /** Returns the place with the name of the topic, for example {@code weir.calls.v1-3@1234}. */
  public String describe() {
    return TOPIC + "-" + this;
  }

  @Override
  public String toString() {
    return partition + "@" + offset;
  }
}
