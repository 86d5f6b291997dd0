// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.WeirClient;
import jakarta.servlet.Filter;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.web.filter.OncePerRequestFilter;

/** Auto-configuration of the filter for servlet applications. */
@AutoConfiguration(after = WeirAutoConfiguration.class)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnClass({Filter.class, OncePerRequestFilter.class})
@ConditionalOnBean(WeirClient.class)
@ConditionalOnProperty(prefix = "weir.filter", name = "enabled", matchIfMissing = true)
public final class WeirServletAutoConfiguration {
  /** Creates the call resolver that uses the properties. */
  @Bean
  @ConditionalOnMissingBean
  public WeirCallResolver weirCallResolver(WeirProperties properties) {
    return new PropertiesCallResolver(properties.filter());
  }

  /** Creates the registration of the filter, with its URL patterns and its order. */
  @Bean
  public FilterRegistrationBean<WeirFilter> weirFilter(
      WeirClient client,
      WeirCallResolver resolver,
      WeirStatistics statistics,
      WeirProperties properties) {
    FilterRegistrationBean<WeirFilter> registration =
        new FilterRegistrationBean<>(new WeirFilter(client, resolver, statistics));
    registration.setUrlPatterns(properties.filter().urlPatterns());
    registration.setOrder(properties.filter().order());
    return registration;
  }
}
