// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.aggregator.count.OtherEndpointsException;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.junit.jupiter.api.Test;

final class StreamsFailuresTest {
  private boolean nameTaken;
  private final StreamsFailures failures = new StreamsFailures("test", () -> nameTaken);

  @Test
  void failureOfKafka_replacesTheThread_aBoundedNumberOfTimes() {
    StreamsException failure = new StreamsException(new TimeoutException("away"));
    for (int i = 0; i < StreamsFailures.MAX_REPLACEMENTS; i++) {
      assertEquals(StreamThreadExceptionResponse.REPLACE_THREAD, failures.handle(failure));
    }
    assertEquals(StreamThreadExceptionResponse.SHUTDOWN_CLIENT, failures.handle(failure));
  }

  @Test
  void nameTakenByAnotherMember_stopsTheApplication() {
    StreamsException failure = new StreamsException(new FencedInstanceIdException("fenced"));
    nameTaken = true;

    assertEquals(StreamThreadExceptionResponse.SHUTDOWN_CLIENT, failures.handle(failure));
  }

  @Test
  void fencedButNameNotTaken_replacesTheThread() {
    StreamsException failure = new StreamsException(new FencedInstanceIdException("fenced"));

    assertEquals(StreamThreadExceptionResponse.REPLACE_THREAD, failures.handle(failure));
  }

  @Test
  void anotherNumberOfEndpoints_stopsTheApplication_andSaysWhatToDo() {
    StreamsException failure = new StreamsException(new OtherEndpointsException(1_000, 20));

    assertEquals(StreamThreadExceptionResponse.SHUTDOWN_CLIENT, failures.handle(failure));
    assertEquals(
        "the stored data were counted with WEIR_MAX_ENDPOINTS=1000, but WEIR_MAX_ENDPOINTS is now"
            + " 20; restore the old value, or start with new topics and a new WEIR_DATA",
        failures.reason());
  }

  @Test
  void brokenInvariant_stopsTheApplication() {
    assertEquals(
        StreamThreadExceptionResponse.SHUTDOWN_CLIENT,
        failures.handle(new StreamsException(new IllegalStateException("negative count"))));
  }
}
