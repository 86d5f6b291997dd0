// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.FailureMode;
import io.weir.client.WeirClient;
import java.net.URI;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/** Creates the client of an application, unless the application defines one. */
@AutoConfiguration
@ConditionalOnProperty(prefix = "weir", name = "enabled", matchIfMissing = true)
@EnableConfigurationProperties(WeirProperties.class)
public final class WeirAutoConfiguration {
  /**
   * Returns the client that the properties describe. It is closed with the application.
   *
   * @throws IllegalArgumentException if a property is missing or wrong; the message names it
   */
  @Bean(destroyMethod = "close")
  @ConditionalOnMissingBean
  public WeirClient weirClient(WeirProperties properties) {
    if (properties.nodes().isEmpty()) {
      throw new InvalidPropertyException(
          "weir.nodes must name at least one node, such as http://weir-1:8080");
    }
    FailureMode mode = properties.failureMode();
    if (mode == null) {
      throw new InvalidPropertyException(
          "weir.failure-mode must be open (calls pass when Weir does not answer) or closed (they"
              + " are refused)");
    }
    try {
      WeirClient.Builder builder =
          WeirClient.builder(mode, properties.nodes().toArray(URI[]::new))
              .deadline(properties.deadline())
              .tryTimeout(properties.tryTimeout())
              .maxTries(properties.maxTries());
      String token = properties.token();
      if (token != null) {
        builder.token(token);
      }
      return builder.build();
    } catch (IllegalArgumentException wrong) {
      throw new InvalidPropertyException(
          "a property of weir.* is wrong: " + wrong.getMessage(), wrong);
    }
  }

  /** Returns the counter of requests by outcome. */
  @Bean
  @ConditionalOnMissingBean
  public WeirStatistics weirStatistics() {
    return new WeirStatistics();
  }
}
