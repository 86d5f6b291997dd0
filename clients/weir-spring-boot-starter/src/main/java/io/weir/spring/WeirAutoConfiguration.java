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

/**
 * Auto-configuration of the {@link WeirClient}. If the application defines its own client, Spring
 * does not use this auto-configuration.
 */
@AutoConfiguration
@ConditionalOnProperty(prefix = "weir", name = "enabled", matchIfMissing = true)
@EnableConfigurationProperties(WeirProperties.class)
public final class WeirAutoConfiguration {
  /**
   * Creates the client from the properties. Spring closes the client with the application context.
   *
   * @throws IllegalArgumentException if a property is missing or wrong; the message states the
   *     property
   */
  @Bean(destroyMethod = "close")
  @ConditionalOnMissingBean
  public WeirClient weirClient(WeirProperties properties) {
    if (properties.nodes().isEmpty()) {
      throw new InvalidPropertyException(
          "weir.nodes must have at least one URL, such as http://weir-1:8080, but is empty");
    }
    FailureMode mode = properties.failureMode();
    if (mode == null) {
      throw new InvalidPropertyException(
          "weir.failure-mode must be open (if no node decides, calls pass) or closed (calls are"
              + " refused), but is not set");
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
          "a property weir.* is not valid: " + wrong.getMessage(), wrong);
    }
  }

  /** Creates the counters of requests by outcome. */
  @Bean
  @ConditionalOnMissingBean
  public WeirStatistics weirStatistics() {
    return new WeirStatistics();
  }
}
