// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.ingest.settle.SearchPlaces.Place;
import org.junit.jupiter.api.Test;

/** Maximum number of concurrent searches, in total and per client. */
final class SearchPlacesTest {
  private final SearchPlaces places = new SearchPlaces(3, 2);

  @Test
  void take_clientAtItsShare_isRefused_andOthersGetTheRest() {
    assertEquals(Place.TAKEN, places.take("a"));
    assertEquals(Place.TAKEN, places.take("a"));
    assertEquals(Place.CLIENT_AT_LIMIT, places.take("a"));
    assertEquals(Place.TAKEN, places.take("b"));
    assertEquals(Place.FULL, places.take("c"));
    places.leave("a");
    assertEquals(Place.TAKEN, places.take("c"));
    assertEquals(3, places.taken());
  }
}
