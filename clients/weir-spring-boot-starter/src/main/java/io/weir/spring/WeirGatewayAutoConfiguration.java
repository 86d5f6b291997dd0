// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.WeirClient;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.cloud.gateway.filter.ratelimit.RateLimiter;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpHeaders;
import reactor.core.publisher.Mono;

/**
 * Auto-configuration of the rate limiter for Spring Cloud Gateway. This class runs before the
 * auto-configuration of the gateway, which searches for a rate limiter.
 */
@AutoConfiguration(
    after = WeirAutoConfiguration.class,
    beforeName = "org.springframework.cloud.gateway.config.GatewayAutoConfiguration")
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
@ConditionalOnClass(RateLimiter.class)
@ConditionalOnBean(WeirClient.class)
@ConditionalOnProperty(prefix = "weir.gateway", name = "enabled", matchIfMissing = true)
public final class WeirGatewayAutoConfiguration {
  /** Creates the rate limiter. */
  @Bean
  @ConditionalOnMissingBean
  public WeirRateLimiter weirRateLimiter(
      WeirClient client,
      WeirProperties properties,
      WeirStatistics statistics,
      ConfigurationService configuration) {
    boolean keysAreApiKeys = properties.gateway().apiKeyHeader() != null;
    return new WeirRateLimiter(client, keysAreApiKeys, statistics, configuration);
  }

  /** Creates a resolver that reads API keys, if the properties set the header field of the keys. */
  @Bean
  @ConditionalOnMissingBean
  @ConditionalOnProperty(prefix = "weir.gateway", name = "api-key-header")
  public KeyResolver weirApiKeyResolver(WeirProperties properties) {
    String header = String.valueOf(properties.gateway().apiKeyHeader());
    return exchange -> {
      HttpHeaders headers = exchange.getRequest().getHeaders();
      // if the field occurs twice, no value can be trusted; the gateway refuses a call without a
      // key
      return headers.getOrEmpty(header).size() == 1
          ? Mono.justOrEmpty(headers.getFirst(header))
          : Mono.empty();
    };
  }
}
