// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Regression: a gateway's callers got 503, and the node that answered 404 logged nothing. */
final class AuthzOffLogTest {
  @Test
  void requestToNodeWithoutIdentity_isLoggedOnce() {
    Logger logger = (Logger) LoggerFactory.getLogger(CallReader.class);
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    lines.start();
    logger.addAppender(lines);
    try {
      CallReader reader = new CallReader(AuthzSettings.OFF);
      assertNotNull(reader.off());
      assertNotNull(reader.off());
    } finally {
      logger.detachAppender(lines);
    }

    List<String> said = lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    assertEquals(1, said.size());
    assertTrue(said.get(0).startsWith("authz_not_configured "), said.get(0));
    assertTrue(said.get(0).contains("WEIR_AUTHZ_CLIENT_HEADER"), said.get(0));
  }
}
