// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.joran.JoranConfigurator;
import ch.qos.logback.core.joran.spi.JoranException;
import org.junit.jupiter.api.Test;

final class LogLevelsTest {
  @Test
  void librariesAtTrace_doNotLogTheRedisPassword() throws JoranException {
    LoggerContext context = new LoggerContext();
    context.putProperty("WEIR_LOG_LIBRARIES", "TRACE");
    JoranConfigurator configurator = new JoranConfigurator();
    configurator.setContext(context);
    configurator.doConfigure(LogLevelsTest.class.getResource("/logback.xml"));

    assertTrue(context.getLogger("io.lettuce.core.RedisClient").isTraceEnabled());
    assertFalse(
        context.getLogger("io.lettuce.core.protocol.CommandEncoder").isDebugEnabled(),
        "it writes each command with its arguments, AUTH among them");
  }
}
