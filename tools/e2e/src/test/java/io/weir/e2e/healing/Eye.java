// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.e2e.healing.Rule.Place;
import java.util.List;

/** Looks at the buckets that the cache keeps, past the nodes. */
interface Eye {
  /** Buckets as they stand. */
  List<KeptBucket> look(List<Place> places);
}
