// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.topics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class TopicsCommandTest {
  @Test
  void topicsLackingTheSame_areGroupedInOneSentence() {
    assertEquals(
        List.of(
            "a, b, c and 2 more have a replication factor of 1, not 3, and"
                + " min.insync.replicas=1, not 2",
            "f has min.insync.replicas=1, not 2"),
        TopicsCommand.together(
            Stream.concat(
                    Stream.of("a", "b", "c", "d", "e")
                        .flatMap(
                            topic ->
                                Stream.of(
                                    topic + " has a replication factor of 1, not 3",
                                    topic + " has min.insync.replicas=1, not 2")),
                    Stream.of("f has min.insync.replicas=1, not 2"))
                .toList()));
  }
}
