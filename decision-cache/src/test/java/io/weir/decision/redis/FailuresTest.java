// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

class FailuresTest {
  /**
   * Regression: a node that lost its connection while it subscribed permanently had no deny cache.
   */
  @Test
  void isLoss_tellsAConnectionThatWasLost_fromAServerThatRefuses() {
    assertTrue(Failures.isLoss(new ExecutionException(new ClosedChannelException())));
    assertTrue(Failures.isLoss(new RedisException(new ClosedChannelException())));
    assertTrue(Failures.isLoss(new RedisConnectionException("Connection closed")));
    assertFalse(
        Failures.isLoss(
            new ExecutionException(new RedisCommandExecutionException("NOPERM no channel"))));
    assertFalse(Failures.isLoss(new RedisException("Command not allowed: PUBLISH")));
  }
}
