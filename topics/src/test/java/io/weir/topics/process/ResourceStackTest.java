// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ResourceStackTest {
  private final List<String> closed = new ArrayList<>();
  private final ResourceStack stack = new ResourceStack();

  @Test
  void close_closesTheNewestFirst_andEachOnce() {
    stack.push(() -> closed.add("cache"));
    stack.push(() -> closed.add("server"));

    stack.close();
    stack.close();

    assertEquals(List.of("server", "cache"), closed);
  }

  @Test
  void resourceBelowAnother_isClosedDirectlyAfterIt() {
    stack.push(() -> closed.add("cache"));
    AutoCloseable log = stack.push(() -> closed.add("log"));
    stack.push(() -> closed.add("server"));

    stack.pushBelow(log, () -> closed.add("corrections"));
    stack.close();

    assertEquals(List.of("server", "log", "corrections", "cache"), closed);
  }

  @Test
  void close_afterFailures_closesTheOthersAndThrowsAllFailures() {
    IOException first = new IOException("a file");
    RuntimeException second = new RuntimeException("a client");
    stack.push(() -> closed.add("cache"));
    stack.push(
        () -> {
          throw second;
        });
    stack.push(
        () -> {
          throw first;
        });

    IllegalStateException failed = assertThrows(IllegalStateException.class, stack::close);

    assertArrayEquals(new Throwable[] {first, second}, failed.getSuppressed());
    assertEquals(List.of("cache"), closed);
  }
}
