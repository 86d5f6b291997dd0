// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.cli.records.CallBatch;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The range is [1000, 2000) in each case; a heartbeat is partition/epoch/promise[/departing]. */
final class PromisesTest {
  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "promised the end,                          0/1/2000,                               ''",
    "promised in one partition only,            0/1/2000 1/1/1999,                      may still",
    "went silent,                               0/1/1500,                               may still",
    "stopped in order,                          0/1/1500/departing,                     ''",
    "opened a new epoch after final heartbeat,   0/1/1500/departing 0/1600/2000,         ''",
    "sent it when it opened a new epoch,         0/1/1500 0/1600/1600 0/1/1500/departing 0/1600/2000,  ''",
    "opened a new epoch without final heartbeat, 0/1/1500 0/1600/2000,                   without a",
    "opened a new epoch before the range,        0/1/500 0/900/2000,                     ''",
    "an older batch was sent again,             0/1/2000 0/1/1500,                      ''",
  })
  void range_isProvenByEachNode(String what, String heartbeats, String reason) {
    Promises promises = new Promises();
    for (String heartbeat : heartbeats.split(" ", -1)) {
      String[] parts = heartbeat.split("/", -1);
      promises.note(
          Integer.parseInt(parts[0]),
          new CallBatch(
              "n", Long.parseLong(parts[1]), 0, Long.parseLong(parts[2]), 0, 0, parts.length > 3));
    }

    List<String> unproven = promises.unproven(1_000, 2_000);

    assertEquals(reason.isEmpty() ? 0 : 1, unproven.size(), what + ": " + unproven);
    assertEquals(
        reason.isEmpty(), unproven.stream().noneMatch(each -> each.contains(reason)), what);
  }
}
