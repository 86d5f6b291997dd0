// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.report.UsageTable.Owner;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;

/**
 * Who holds which partitions at a moment.
 *
 * @param local partitions that are here
 * @param remote the other aggregators that hold some
 */
record Placement(List<Integer> local, Set<Owner.Remote> remote) {

  /** Asks about each of the partitions 0 to {@code partitions} − 1. */
  static Placement of(int partitions, IntFunction<Owner> ownerOf) {
    List<Integer> local = new ArrayList<>();
    Set<Owner.Remote> remote = new LinkedHashSet<>();
    for (int partition = 0; partition < partitions; partition++) {
      Owner owner = ownerOf.apply(partition);
      if (owner instanceof Owner.Local) {
        local.add(partition);
      } else if (owner instanceof Owner.Remote other) {
        remote.add(other);
      }
    }
    return new Placement(local, remote);
  }
}
